// The one list of flags, read here and by CMakeLists.txt.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const folder = path.resolve(import.meta.dirname, '..');

const read = (file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
const common = read('compile.json');
const ofKernels = existsSync(path.join(folder, 'cpp/kernels/flags.json')) ? read('cpp/kernels/flags.json') : {};

/** The flags under a key of compile.json; `kernels` stands for all that any kernel gets on this processor. */
export function flagsOf(key) {
  return key === 'kernels' ? [...new Set(Object.values(ofKernels[process.arch] ?? {}).flat())] : (common[key] ?? []);
}

/** What one file of cpp/kernels gets on this processor beyond the others. */
export const flagsOfKernel = (name) => ofKernels[process.arch]?.[name] ?? [];
