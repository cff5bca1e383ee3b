// The folders of build/, and what is built into each.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { findCMake, findCompiler, refusalOf, runnableKernels } from './compiler.mjs';
import { flagsOf, folder, itsPlatforms, kernelsWithFlags, label, name, without } from './flags.mjs';
import { platforms } from './platforms.mjs';
import { CommandFailed } from './run-to-end.mjs';
import { buildWithCMake } from './with-cmake.mjs';
import { buildWithoutCMake } from './without-cmake.mjs';

const isSet = (variable) => !['', '0', 'false', undefined].includes(process.env[variable]);
const library = 'coll_engine';
export const buildFolder = (variant) => path.join(folder, 'build', variant);

/**
 * The addon in build/<variant>, by whatever tools are found; without a compiler it prints why there is none. `isEarly` compiles only what needs
 * no npm package. The addon has the instructions that this processor has, or those of every one, then and from then on.
 */
export async function buildAddon(variant, { isEarly = false, forEveryProcessor = false } = {}) {
  if (itsPlatforms?.includes(process.platform) === false) return doWithout(`it is for ${itsPlatforms.join()} only`);
  if (process.platform === 'win32') return doWithout('Windows has only the binary that is cross-compiled for it');
  const compiler = findCompiler();
  const found = compiler.refused === undefined ? findings(compiler) : compiler;
  if (found.refused !== undefined) return doWithout(found.refused);
  const into = buildFolder(variant);
  const mark = path.join(into, '.every-processor');
  if (forEveryProcessor) {
    mkdirSync(into, { recursive: true });
    writeFileSync(mark, '');
  }
  if (findCMake() !== undefined) {
    const targets = [isEarly ? library : name];
    return buildWithCMake({ into, settings: settingsFor(variant, compiler, found), targets });
  }
  return buildWithoutCMake({
    into,
    compiler,
    variant,
    strict: isKeptFreeOfWarnings(compiler),
    kernels: kernelsOf(variant, found),
    isEarly,
  });
}

/** build/<variant> with coll_tests and, where asked for, the addon. Wants CMake and GoogleTest. Returns the folder. */
export function buildTests(variant, targets = ['coll_tests']) {
  const compiler = findCompiler();
  if (compiler.refused !== undefined) throw new CommandFailed(compiler.refused);
  const into = buildFolder(variant);
  buildWithCMake({ into, settings: settingsFor(variant, compiler, findings(compiler)), targets });
  return into;
}

/** build/<platform> by the compiler that its recipe names: the addon, and coll_tests where an emulator can run them. */
export function buildPlatform(platform) {
  const { settings, emulator, os } = platforms[platform];
  if (settings === undefined || (os === 'darwin' && process.platform !== 'darwin')) {
    throw new CommandFailed(
      `${platform} is built on a machine or in a container of its kind: see native/engine/README.md`,
    );
  }
  const into = buildFolder(platform);
  buildWithCMake({ into, settings, targets: [name, ...(emulator ? ['coll_tests'] : [])] });
  return { into, emulator };
}

const settingsFor = (variant, compiler, found) => [
  `CMAKE_CXX_COMPILER=${compiler.command}`,
  `COLL_VARIANT=${variant}`,
  `COLL_STRICT=${isKeptFreeOfWarnings(compiler) ? 'ON' : 'OFF'}`,
  ...(kernelsWithFlags.length > 0 ? [`COLL_KERNELS=${kernelsOf(variant, found).join(';')}`] : []),
];

/** The files of cpp/kernels that get their flags: those for this processor, unless the addon is for every one. */
function kernelsOf(variant, { runnable }) {
  return existsSync(path.join(buildFolder(variant), '.every-processor')) ? kernelsWithFlags : runnable;
}

// CI's compiler. Another one may warn of more, which is no reason to be without the engine.
const isKeptFreeOfWarnings = ({ version }) => /^(c\+\+|g\+\+) .*\b12\.\d+\.\d+$/.test(version);

function doWithout(reason) {
  if (isSet('CI') || isSet('COLL_REQUIRE_NATIVE')) throw new CommandFailed(`not built, because ${reason}`);
  console.error(`${label}: not built, because ${reason}; ${without}.`);
}

/** Asks a compiler once whether it will do, for its version and our flags, and which kernels this processor can run. */
function findings(compiler) {
  const file = buildFolder('compiler.json');
  const [{ model }] = cpus();
  const question = [compiler.command, compiler.version, ...flagsOf('everywhere'), ...flagsOf('kernels'), model];
  const remembered = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  if (remembered?.question.join('\n') === question.join('\n')) return remembered;
  const refused = refusalOf(compiler);
  if (refused !== undefined) return { refused };
  const answer = { question, runnable: runnableKernels(compiler) };
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(answer));
  return answer;
}
