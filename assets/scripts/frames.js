// In the page's head, before gradio's scripts. Gradio's loading sign keeps the function for frames that it finds, and
// asks by it for one after another even when the sign is long gone (6.31): a page at rest would be drawn 60 times a
// second, on cores that the models need. Whoever asks by what was found here gets few frames once the page stands.
(() => {
  const FEW_MS = 500;
  const native = window.requestAnimationFrame;
  let stands = false;
  window.requestAnimationFrame = (callback) =>
    stands ? setTimeout(() => callback(performance.now()), FEW_MS) : native.call(window, callback);
  window.sdStands = () => {
    stands = true;
    window.requestAnimationFrame = native;
  };
})();
