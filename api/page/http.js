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
export const readFile = async (path) => (await send(path)).blob();

// Asks a question. Calls `onStage` with the name of each stage that has ended, and returns the response.
export async function ask(form, onStage) {
  const answer = await send("/v1/ask/stream", { method: "POST", body: JSON.stringify(form) });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Problem({});
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const event = /^event: (\w+)\ndata: (.*)$/s.exec(block);
      if (!event) continue;
      const data = JSON.parse(event[2]);
      if (event[1] === "stage") onStage(data.stage);
      else if (event[1] === "problem") throw new Problem(data);
      else return data;
    }
  }
}
