// Asks for state.json every other second while somebody looks, and draws what has changed.
// Names and messages are others': they become text, never markup.
"use strict";

const PERIOD = 2000;
const STATUS = {
  running: "running", elsewhere: "running, or stopped, on ", done: "done",
  failed: "ended with errors", stopped: "stopped before its end",
};
const $ = (id) => document.getElementById(id);

function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function drawing(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function clock(seconds) {
  const all = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(all / 3600), minutes = Math.floor(all / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}

const day = (seconds) => new Date(1000 * seconds).toLocaleTimeString();
const words = (name) => [...new Set(name.split("/"))].join(" ");

function head(state) {
  const [done, known] = state.jobs;
  $("experiment").textContent = state.experiment;
  document.title = `${known ? `${done}/${known} ` : ""}${state.experiment} – replitune watch`;
  $("status").textContent = STATUS[state.status] + (state.status === "elsewhere" ? state.host : "");
  $("status").className = state.status;
  $("folder").textContent = state.folder;
  $("bar").hidden = !known;
  $("bar").max = known || 1;
  $("bar").value = done;
  const parts = [];
  if (known) parts.push(`${done} of ${known} jobs`, `${clock(state.cpu)} CPU`);
  if (state.began !== null) parts.push(`began ${day(state.began)}`);
  if (state.left !== null && done) parts.push(`about ${clock(state.left)} left`);
  if (state.status === "elsewhere") parts.push(`last sign of life ${day(state.sign)}`);
  $("report").hidden = !state.report;
  $("jobs").textContent = parts.join(", ");
}

function stages(state) {
  $("stages").tBodies[0].replaceChildren(...state.stages.map((stage) => {
    const row = element("tr"), bar = element("progress"), share = element("td"), now = element("td");
    bar.max = stage.all || 1;
    bar.value = stage.done;
    bar.setAttribute("aria-label", `${stage.name}: ${stage.done} of ${stage.all}`);
    share.append(bar);
    if (stage.at_work) now.append(element("span", `${stage.at_work} at work `));
    if (stage.failed) now.append(element("span", `${stage.failed} failed`, "bad"));
    row.append(element("td", stage.name), element("td", `${stage.done} of ${stage.all}`), share, now);
    return row;
  }));
}

function replicas(state) {
  $("replicas").tBodies[0].replaceChildren(...state.replicas.map((one) => {
    const of = one.all + (one.most === one.all ? "" : ` (most ${one.most})`), row = element("tr");
    const cell = (n) => element("td", n === null ? "–" : `${n} of ${of}`, n === one.all ? "done" : "");
    row.append(element("td", one.system), element("td", one.of), cell(one.made), cell(one.decoded));
    return row;
  }));
}

function figure(system, curves, low, high, longest, colour) {
  const width = 300, height = 130, left = 42, bottom = 18, top = 6;
  const x = (i) => left + (width - left - 6) * i / (longest - 1);
  const y = (score) => top + (height - top - bottom) * (high - score) / ((high - low) || 1);
  const made = element("figure");
  const picture = drawing("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${system}: ${curves.length} runs, dev scores from ${low.toFixed(2)} to ${high.toFixed(2)}`});
  for (const score of [low, high]) {
    picture.append(drawing("line", {class: "axis", x1: left, x2: width - 6, y1: y(score), y2: y(score)}));
    picture.append(drawing("text", {x: left - 4, y: y(score) + 4, "text-anchor": "end"}, score.toFixed(2)));
  }
  picture.append(drawing("text", {x: left, y: height - 4}, "0"));
  picture.append(drawing("text", {x: width - 6, y: height - 4, "text-anchor": "end"}, String(longest - 1)));
  for (const curve of curves) {
    const kind = `${colour.get(curve.of)}${curve.done ? "" : " under-way"}`;
    const points = curve.scores.map((score, i) => `${x(i).toFixed(1)},${y(score).toFixed(1)}`);
    const line = points.length > 1 ? drawing("polyline", {class: kind, points: points.join(" ")})
      : drawing("circle", {class: kind, cx: x(0), cy: y(curve.scores[0]), r: 2.5});
    line.append(drawing("title", {}, `${curve.replica}: ${curve.scores.at(-1).toFixed(2)}`));
    picture.append(line);
  }
  made.append(element("figcaption", system), picture);
  return made;
}

function tuning(state) {
  const curves = state.curves, every = curves.flatMap((curve) => curve.scores);
  $("tuning").hidden = !curves.length;
  if (!curves.length) return;
  const low = every.reduce((a, b) => Math.min(a, b)), high = every.reduce((a, b) => Math.max(a, b));
  const longest = Math.max(2, ...curves.map((curve) => curve.scores.length));
  const kinds = [...new Set(state.replicas.map((one) => one.of))];
  const colour = new Map(kinds.map((of, i) => [of, `c${1 + (i % 7)}`]));
  $("metric").textContent = state.metric;
  $("legend").replaceChildren(...kinds.map((of) => element("span", of, colour.get(of))));
  const systems = [...new Set(curves.map((curve) => curve.system))];
  $("curves").replaceChildren(...systems.map((system) =>
    figure(system, curves.filter((curve) => curve.system === system), low, high, longest, colour)));
}

function work(state) {
  $("work").hidden = !state.at_work.length;
  $("work-list").replaceChildren(...state.at_work.map((job) => {
    const row = element("li", words(job.name));
    if (job.said) row.append(element("span", ` ${job.said}`, "soft"));
    return row;
  }));
}

function failed(state) {
  $("failed").hidden = !state.failed.length;
  const last = state.failed.at(-1), others = state.failed.slice(0, -1);
  const rows = [];
  if (last) {
    const log = element("p", "log: ");
    log.append(element("code", last.log));
    rows.push(element("h3", words(last.name)), log, element("pre", last.message));
  }
  if (others.length) rows.push(element("p", `and ${others.length} more: ${others.map((one) => words(one.name)).join(", ")}`, "soft"));
  $("failed-list").replaceChildren(...rows);
}

function verdict(state) {
  const said = state.verdict;
  $("verdict").hidden = !said;
  if (!said) return;
  $("verdict-title").textContent = `${said.final ? "Verdict" : "Verdict so far, NOT FINAL"} (${said.where})`;
  $("verdict-words").textContent = said.words;
  const rows = said.lines.map((line) => element("li", line));
  if (said.more) rows.push(element("li", `and ${said.more} more pairs`, "soft"));
  $("verdict-lines").replaceChildren(...rows);
}

function trouble(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text;
}

let drawn = "";
async function look() {
  try {
    const answer = await fetch("state.json"), text = await answer.text();
    const state = JSON.parse(text);
    trouble(state.error ?? "");
    if (text !== drawn && !state.error) {
      for (const part of [head, verdict, failed, stages, replicas, tuning, work]) part(state);
      drawn = text;
    }
  } catch {
    trouble("replitune watch does not answer: was it ended? Below is its last state.");
  }
}

async function again() {
  if (!document.hidden) await look();
  setTimeout(again, PERIOD);
}

document.addEventListener("visibilitychange", () => document.hidden || look());
again();
