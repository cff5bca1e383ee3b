import { writeFileSync } from 'node:fs';
import { kernelModule } from './kernel-module.ts';

writeFileSync(new URL('../../packages/core/src/wasm/kernel-bytes.ts', import.meta.url), await kernelModule());
