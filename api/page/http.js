// Requests to this server, and to no other. A key stays in this tab.

const KEY = "sourcebound.key";

export const hasKey = () => sessionStorage.getItem(KEY) !== null;
export const useKey = (text) => sessionStorage.setItem(KEY, text);

export class Problem extends Error {
  constructor(details) {
    super(details.detail || "The server did not answer.");
    this.code = details.code || "UNREACHABLE";
    this.nextStep = details.next_step || "Check that it runs, and ask again.";
    this.status = details.status || 0;
  }
}

async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  if (options.body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Problem({});
  }
  if (answer.ok) return answer;
  let details = {};
  try { details = await answer.json(); } catch { /* an answer without details */ }
  const problem = new Problem({ status: answer.status, ...details });
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("key-needed", { detail: problem }));
  throw problem;
}

export const read = async (path) => (await send(path)).json();
export const post = async (path, form) => (await send(path, { method: "POST", body: JSON.stringify(form) })).json();
export const remove = (path) => send(path, { method: "DELETE" });
export const readFile = async (path) => (await send(path)).blob();

// Takes the whole events off a text that may end within one, and returns them with the rest of the text.
function takeEvents(text) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  const events = blocks.map((block) => /^event: (\w+)\ndata: (.*)$/s.exec(block)).filter(Boolean);
  return { events: events.map(([, name, data]) => ({ name, data: JSON.parse(data) })), rest };
}

// Uploads files with labels into a collection. Calls `onSent` with the share that was sent, and `onStep` with each step of the ingest.
export function upload(collection, files, labels, onSent, onStep) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  for (const label of labels) form.append("label", label);
  const request = new XMLHttpRequest(); // fetch does not say how much was sent
  request.open("POST", `/v1/collections/${encodeURIComponent(collection)}/documents`);
  request.setRequestHeader("Accept", "text/event-stream");
  if (hasKey()) request.setRequestHeader("Authorization", `Bearer ${sessionStorage.getItem(KEY)}`);
  return new Promise((resolve, reject) => {
    let taken = 0;
    const fail = (details) => {
      const problem = new Problem(details);
      if (problem.status === 401) document.dispatchEvent(new CustomEvent("key-needed", { detail: problem }));
      reject(problem);
    };
    const takeSteps = () => {
      if (request.status !== 200) return;
      const { events, rest } = takeEvents(request.responseText.slice(taken));
      taken = request.responseText.length - rest.length;
      for (const { name, data } of events) {
        if (name === "report") resolve(data);
        else if (name === "problem") fail(data);
        else onStep(data);
      }
    };
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onSent(event.loaded / event.total));
    request.addEventListener("progress", takeSteps);
    request.addEventListener("error", () => fail({}));
    request.addEventListener("load", () => {
      takeSteps();
      let details = {};
      try { details = JSON.parse(request.responseText); } catch { /* an answer without details */ }
      fail({ status: request.status, ...details }); // does nothing after the report
    });
    request.send(form);
  });
}

// Asks a question. Calls `onStage` with the name of each stage that has ended, and returns the response.
export async function ask(form, onStage) {
  const answer = await send("/v1/ask/stream", { method: "POST", body: JSON.stringify(form) });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Problem({});
    waiting += value;
    const { events, rest } = takeEvents(waiting);
    waiting = rest;
    for (const { name, data } of events) {
      if (name === "stage") onStage(data.stage);
      else if (name === "problem") throw new Problem(data);
      else return data;
    }
  }
}
