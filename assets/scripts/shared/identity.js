// By what the server knows this page: what it asks for ends what it asked for before. Made anew whenever the page is
// opened, and told to nobody else; so two tabs are two pages, even one and its duplicate.

const bytes = crypto.getRandomValues(new Uint8Array(16));

export const PAGE = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
