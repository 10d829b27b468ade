// A file that the reader opens.

// What no JSON holds as it is: a reader stops at the first of these, and each takes six times its size to send.
const NO_JSON = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

/**
 * {text, size} as the server wants it, the text null where there are more than `largest` bytes. Null for what cannot be
 * read, such as a folder.
 */
export async function contents(file, largest) {
  try {
    if (file.size > largest) return { text: null, size: file.size };
    const text = await file.text();
    const end = text.search(NO_JSON);
    return { text: end < 0 ? text : text.slice(0, end + 1), size: file.size };
  } catch {
    return null;
  }
}
