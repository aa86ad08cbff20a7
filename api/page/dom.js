// Builds elements. Text of documents, questions and models enters the page as text nodes only, so it never becomes HTML.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const say = (text) => { byId("status").textContent = text; };

export const joined = (...parts) => parts.filter(Boolean).join(" · ");

export const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "");

export const place = (item) => 
  joined(item.page_number === null ? "" : `Page ${item.page_number}`, item.section && item.section.replaceAll(" > ", " › "));
