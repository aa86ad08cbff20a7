// Asks a server through the official client, and prints what it understood as JSON.
// node openai_client.mjs URL QUESTION
import OpenAI from "openai";

const [baseURL, question] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
const model = "sourcebound/default";
const messages = [{ role: "user", content: question }];

const completion = await client.chat.completions.create({ model, messages });
const chunks = [];
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
  chunks.push(chunk.choices[0].delta.content ?? "");
}
const response = await client.responses.create({ model, input: question });
const events = [];
for await (const event of await client.responses.create({ model, input: question, stream: true })) {
  events.push(event);
}
const helper = await client.responses.stream({ model, input: question }).finalResponse();
const models = [];
for await (const each of client.models.list()) {
  models.push(each.id);
}
const error = await client.chat.completions.create({ model: "gpt", messages }).catch((failure) => failure);

console.log(
  JSON.stringify({
    completion: completion.choices[0].message.content,
    support: completion.sourcebound.support_level,
    chunks: chunks.filter(Boolean),
    response: response.output_text,
    deltas: events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta),
    last: events.at(-1).type,
    helper: helper.output_text,
    models,
    error: [error.constructor.name, error.status, error.code],
  }),
);
