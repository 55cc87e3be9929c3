#!/bin/sh
# Makes src/replitune/report/templates/plot.min.js, the library that draws the pictures of the page,
# from npm: the marks of Observable Plot that we use and a little of D3, with their licences on top.
#
#     scripts/bundle_plot.sh       needs node and npm; the result is committed
#
# Why Plot: it draws SVG, which takes the page's colours and can be saved, and needs no `eval`, which
# the page forbids itself. Minified: this 0.30 MB; Vega-Lite with Vega 0.77 MB, and `eval`; uPlot
# 0.05 MB, on canvases, without categories.
set -e
PLOT=0.6.17 D3=7.9.2 ESBUILD=0.28.2
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent "@observablehq/plot@$PLOT" "d3@$D3" "esbuild@$ESBUILD"
cat > entry.js <<'JS'
export {plot, dot, ruleX, ruleY, rectY, barX, barY, cell, text, line, tickX, tip, pointer, axisX, axisY, axisFy, gridX, gridY, tickY, link, areaY} from "@observablehq/plot";
export {select, brushX, ticks, bin} from "d3";
JS
npx esbuild entry.js --bundle --minify --format=iife --global-name=Plot --target=es2020 \
  --legal-comments=none --metafile=meta.json --outfile=plot.js
node - > "$here/src/replitune/report/templates/plot.min.js" <<'JS'
const fs = require("fs");
const names = new Set(Object.keys(JSON.parse(fs.readFileSync("meta.json")).inputs)
  .map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
const texts = new Map();
for (const name of [...names].sort()) {
  const folder = `node_modules/${name}`;
  const {version} = JSON.parse(fs.readFileSync(`${folder}/package.json`));
  const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = fs.readFileSync(`${folder}/${file}`, "utf-8").trim();
  // those that differ in the year alone are one
  const key = text.replace(/\b(19|20)\d\d(-(19|20)\d\d)?\b/g, "");
  const known = texts.get(key) ?? {text, packages: []};
  known.packages.push(`${name} ${version}`);
  texts.set(key, known);
}
const said = [...texts.values()].map(({text, packages}) => `${packages.join(", ")}\n\n${text}`);
process.stdout.write(`/*!\n${said.join("\n\n----\n\n").replaceAll("*/", "* /")}\n*/\n`);
process.stdout.write(fs.readFileSync("plot.js", "utf-8"));
JS
