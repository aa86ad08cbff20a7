// A page of a document as it was printed, with the quoted words marked. A canvas shows it, because the policy of the page
// loads images from nowhere else than the server's own files.

import { make } from "./dom.js";
import { read, readFile } from "./http.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_PIXELS = 2400;
const PADDING = 1.5; // points around the words

// Returns the page. `quotes` are ranges of its text, and `current` is the one among them that is scrolled to.
export async function printedPage({ collection, knowledgeId, number, quotes, current, label, width }) {
  const path = `/v1/documents/${encodeURIComponent(knowledgeId)}/pages/${number}`;
  const query = `collection=${encodeURIComponent(collection)}`;
  const spans = quotes.map((quote) => `&span=${quote.start}-${quote.end}`).join("");
  const pixels = Math.min(MOST_PIXELS, Math.round(width * devicePixelRatio));
  const [image, marks] = await Promise.all([
    readFile(`${path}/image?${query}&width=${pixels}`).then(createImageBitmap),
    spans ? read(`${path}/marks?${query}${spans}`) : { spans: [] },
  ]);
  const canvas = make("canvas", { width: String(image.width), height: String(image.height), role: "img", "aria-label": label });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return make("div", { class: "printed" }, canvas, overlay(marks, current));
}

function overlay(marks, current) {
  const layer = document.createElementNS(SVG, "svg");
  layer.setAttribute("viewBox", `0 0 ${marks.width || 1} ${marks.height || 1}`);
  layer.setAttribute("preserveAspectRatio", "none");
  layer.setAttribute("aria-hidden", "true");
  for (const span of marks.spans) {
    const isCurrent = current && span.start === current.start && span.end === current.end;
    for (const place of span.rectangles) {
      const mark = document.createElementNS(SVG, "rect");
      mark.setAttribute("x", place.left - PADDING);
      mark.setAttribute("y", place.top - PADDING);
      mark.setAttribute("width", place.width + 2 * PADDING);
      mark.setAttribute("height", place.height + 2 * PADDING);
      if (isCurrent) mark.setAttribute("class", "current");
      layer.append(mark);
    }
  }
  return layer;
}
