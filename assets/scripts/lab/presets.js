// Distributions to begin with.

export const PRESETS = {
  example: { tokens: ["A", "B", "C", "D"], q: [0.2, 0.4, 0.3, 0.1], p: [0.5, 0.1, 0.1, 0.3] },
  equal: { tokens: ["A", "B", "C", "D"], q: [0.4, 0.3, 0.2, 0.1], p: [0.4, 0.3, 0.2, 0.1] },
  disjoint: { tokens: ["A", "B", "C", "D"], q: [0.7, 0.3, 0, 0], p: [0, 0, 0.4, 0.6] },
  overconfident: { tokens: ["A", "B", "C", "D", "E"], q: [0.92, 0.04, 0.02, 0.01, 0.01], p: [0.45, 0.25, 0.15, 0.1, 0.05] },
};
