// Calls to the server this page came from, and to no other; addresses are relative, so that the page may live under a sub-path.

/** Why a call failed: `kind` is "offline", "busy", "refused" or "broken", the message a sentence for people. */
export class ApiError extends Error {
  constructor(kind, message, { status = 0, retryAfter = 0 } = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const OFFLINE = "The server does not answer.";

function sentence(body, status) {
  if (typeof body?.detail === "string") return body.detail;
  if (Array.isArray(body?.detail)) return body.detail.map((item) => item.msg).join(" ");
  return `The server answered with an error (${status}).`;
}

/** Seconds: longer than the server takes for what is soon told, so that it says itself that it took too long. */
const PATIENCE = 60;

async function request(path, { method = "GET", body, signal, timeout = PATIENCE } = {}) {
  const limits = [AbortSignal.timeout(timeout * 1000), ...(signal ? [signal] : [])];
  let response;
  try {
    response = await fetch(path, {
      method,
      signal: AbortSignal.any(limits),
      credentials: "same-origin",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const late = error?.name === "TimeoutError";
    throw new ApiError("offline", late ? `The server did not answer within ${timeout} s.` : OFFLINE);
  }
  let answer;
  try {
    answer = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    if (response.ok) throw new ApiError("offline", OFFLINE);
  }
  if (response.ok) return answer;
  const { status } = response;
  if (status === 401) {
    throw new ApiError("refused", "This page needs a link that was not used before: whoever runs “whence serve” has one.", { status });
  }
  const kind = status === 429 || status === 503 ? "busy" : status < 500 ? "refused" : "broken";
  throw new ApiError(kind, sentence(answer, status), { status, retryAfter: Number(response.headers.get("Retry-After")) || 2 });
}

/** Where the other questions are asked. */
const OTHERS = { front: "fronts", menu: "menus", reasons: "reasons", compare: "comparisons", forecast: "forecasts", prices: "prices", rules: "rules" };

const at = (...parts) => `api/${parts.map(encodeURIComponent).join("/")}`;

export const api = {
  health: () => request(at("health"), { timeout: 5 }),
  scenes: () => request(at("scenes")),
  // The first time a scene is opened, its policy may have to be fitted.
  scene: (id) => request(at("scenes", id), { timeout: 120 }),
  quality: (id) => request(at("scenes", id, "quality")),
  observation: (id, row) => request(at("scenes", id, "observations", row)),
  decide: (id, context, signal) => request(at("scenes", id, "decide"), { method: "POST", body: { context }, signal }),
  check: (id, context, plan, signal) => request(at("scenes", id, "check"), { method: "POST", body: { context, plan }, signal }),
  strips: (id, question) => request(at("scenes", id, "strips"), { method: "POST", body: question }),
  explain: (id, question) => request(at("scenes", id, "explanations"), { method: "POST", body: question }),
  /** Once its nearest answer is known, a `brief` one does not hold it again until it is finished. */
  job: (job, wait, brief) => request(`${at("explanations", job)}?wait=${wait}${brief ? "&brief=true" : ""}`, { timeout: wait + 15 }),
  cancel: (job) => request(at("explanations", job), { method: "DELETE" }),
  /** The same from a page that is being closed: nobody waits for the answer. */
  abandon: (job) => navigator.sendBeacon(`${at("explanations", job)}/cancel`),
  /** Ask one of the other questions: "front", "menu", "reasons", "compare", "forecast", "prices" or "rules". */
  ask: (name, id, question) => request(at("scenes", id, OTHERS[name]), { method: "POST", body: question }),
  answer: (job, wait) => request(`${at("answers", job)}?wait=${wait}`, { timeout: wait + 15 }),
  cancelAnswer: (job) => request(at("answers", job), { method: "DELETE" }),
  abandonAnswer: (job) => navigator.sendBeacon(`${at("answers", job)}/cancel`),
  answerReport: (job) => `${at("answers", job)}/report.html`,
  answerData: (job) => `${at("answers", job)}/answer.json`,
  report: (job) => `${at("explanations", job)}/report.html`,
  data: (job) => `${at("explanations", job)}/explanation.json`,
};
