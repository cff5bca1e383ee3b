import path from 'node:path';
import { readReference } from './reference.ts';

// With `--check` nothing is written, only what is wrong is printed.
const { faults, write } = await readReference();
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
if (!process.argv.includes('--check')) await write(path.resolve(import.meta.dirname, '../../../../docs/reference/api'));
