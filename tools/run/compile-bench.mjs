// Compiles the benchmark program, for bench.mjs: `tools/bench/src` to `tools/bench/dist`, file by file.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { root } from './run.mjs';

const source = path.join(root, 'tools/bench/src');
const address = /(\bnew URL\('\.\/[^'\n]*)\.ts(?=', import\.meta\.url\))/g;

/**
 * Compiles the program, because ranks are many threads and processes. A TypeScript loader would start
 * another thread in each of them, which in Node.js 20 polls long after all modules are loaded.
 * @returns the path of the compiled program
 */
export async function compileBench() {
  const outdir = path.join(root, 'tools/bench/dist');
  const files = readdirSync(source, { recursive: true }).filter((file) => /\.(mjs|ts)$/.test(file));
  const entryPoints = files.map((file) => path.join(source, file));
  const addresses = { name: 'addresses', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, load) };
  await build({
    entryPoints,
    outdir,
    format: 'esm',
    target: 'node20',
    loader: { '.mjs': 'copy' },
    plugins: [addresses],
  });
  return path.join(outdir, 'main.js');
}

/** Loads a source, with addresses of compiled scripts. */
function load({ path: file }) {
  return { contents: readFileSync(file, 'utf8').replace(address, '$1.js'), loader: 'ts' };
}
