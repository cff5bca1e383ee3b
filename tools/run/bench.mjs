import { becomeScript, prepare } from './phases.mjs';

await prepare();
// `prepare` has installed esbuild.
const { compileBench } = await import('./compile-bench.mjs');
await becomeScript(await compileBench(), process.argv.slice(2));
