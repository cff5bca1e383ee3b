import { becomeScript, prepare } from './phases.mjs';

await prepare();
// esbuild is installed by now.
const { compileBench } = await import('./compile-bench.mjs');
await becomeScript(await compileBench(), process.argv.slice(2));
