// Scripts that are fetched when they are first needed; where the server is gone, as soon as it is back.

import { onceBack } from "./connection.js";
import { make } from "./make.js";
import { lost } from "./phase.js";
import { tell } from "./words.js";

/** The module `path` of scripts/. While it cannot be had, `place` begins with the reason. */
export async function fetched(path, place) {
  const address = new URL(`specdemo/scripts/${path}`, document.baseURI).href;
  const why = make("p", "sd-away");
  why.setAttribute("role", "alert");
  for (let attempt = 0; ; attempt++) {
    try {
      const module = await import(attempt ? `${address}?${attempt}` : address); // a failure stays with its address
      why.remove();
      return module;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it came, and is wrong
      place.prepend(why);
      tell(why, lost);
      await new Promise(onceBack);
    }
  }
}
