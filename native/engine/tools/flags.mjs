// The folder that is built, and the one list of its flags, read here and by CMakeLists.txt.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Of build.mjs or pack.mjs that was called: @coll/nccl has its own and these tools in common. */
export const folder = path.dirname(realpathSync(process.argv[1]));

const read = (file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
const common = read('compile.json');
const ofKernels = existsSync(path.join(folder, 'cpp/kernels/flags.json')) ? read('cpp/kernels/flags.json') : {};

/**
 * What is built: its `name`, its `label` in messages, its source folders as `parts`, the files
 * that are compiled `alone` and not together with their folder, what serves `without` it, the variable
 * that names another binary, its `platforms` if not all, and the folders of Node programs that run under sanitizers.
 */
export const { name, label, parts, alone = [], without, pathVariable, platforms: itsPlatforms, sanitized } = common;

/** The flags under a key of compile.json; `kernels` stands for all that any kernel gets on this processor. */
export function flagsOf(key) {
  return key === 'kernels' ? [...new Set(Object.values(ofKernels[process.arch] ?? {}).flat())] : (common[key] ?? []);
}

/** The files of cpp/kernels that may use instructions of their own on this kind of processor. */
export const kernelsWithFlags = Object.keys(ofKernels[process.arch] ?? {});

/** What one file of cpp/kernels gets on this kind of processor beyond the others. */
export const flagsOfKernel = (name) => ofKernels[process.arch]?.[name] ?? [];

/** Where napi.h and node_api.h are, once npm has installed them: no Node source is downloaded. */
const packages = path.resolve(import.meta.dirname, '../../../node_modules');
export const nodeApiIncludes = [path.join(packages, 'node-addon-api'), path.join(packages, 'node-api-headers/include')];
export const nodeApiDefinition = path.join(packages, 'node-api-headers/def/node_api.def');
