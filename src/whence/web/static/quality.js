// How good the policy is on observations that it was not fitted to: a sentence under the question, once it is known.

import { api } from "./api.js";
import { byId, put } from "./dom.js";
import { term } from "./terms.js";

let asked = 0;

/** Ask for the sentence of a scene; the page does not wait for it, and says nothing where it is not known. */
export async function showQuality(id) {
  asked += 1;
  const mine = asked;
  const node = byId("quality");
  node.classList.add("pending");
  let found;
  try {
    found = await api.quality(id);
  } catch {
    return;
  }
  if (mine !== asked || !found.text) return;
  const sentences = found.text.split(/(?<=\.) (?=[A-Z])/);
  const lead = sentences.find((text) => text.startsWith("Warning")) ?? sentences.find((text) => text.startsWith("The policy")) ?? sentences[0];
  node.querySelector("summary").textContent = lead;
  put(node.querySelector("p"), sentences.filter((text) => text !== lead).join(" "), " ", term("foresight", "What is foresight?"));
  node.classList.toggle("doubtful", found.warning);
  node.classList.remove("pending");
}
