// The folders of build/, and what is built into each.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findCMake, findCompiler, refusalOf } from './compiler.mjs';
import { flagsOf, folder, itsPlatforms, label, name, without } from './flags.mjs';
import { platforms } from './platforms.mjs';
import { CommandFailed } from './run-to-end.mjs';
import { buildWithCMake, nodeApiIncludes } from './with-cmake.mjs';
import { buildWithoutCMake } from './without-cmake.mjs';

const isSet = (variable) => !['', '0', 'false', undefined].includes(process.env[variable]);
export const buildFolder = (variant) => path.join(folder, 'build', variant);

/** The addon in build/<variant>, with whatever tools are here; without any it says so. */
export async function buildAddon(variant) {
  if (itsPlatforms?.includes(process.platform) === false) return doWithout(`it is for ${itsPlatforms.join()} only`);
  if (process.platform === 'win32') return doWithout('Windows has only the binary that is cross-compiled for it');
  const compiler = findCompiler();
  const refused = compiler.refused ?? refusalAsRemembered(compiler);
  if (refused !== undefined) return doWithout(refused);
  const into = buildFolder(variant);
  if (findCMake() !== undefined) return buildWithCMake({ into, settings: settingsFor(variant, compiler) });
  return buildWithoutCMake({
    into,
    compiler,
    variant,
    strict: isKeptFreeOfWarnings(compiler),
    includes: nodeApiIncludes,
  });
}

/** build/<variant> with coll_tests and, where asked for, the addon. Wants CMake and GoogleTest. Returns the folder. */
export function buildTests(variant, targets = ['coll_tests']) {
  const compiler = findCompiler();
  if (compiler.refused !== undefined) throw new CommandFailed(compiler.refused);
  const into = buildFolder(variant);
  buildWithCMake({ into, settings: settingsFor(variant, compiler), targets });
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

const settingsFor = (variant, compiler) => [
  `CMAKE_CXX_COMPILER=${compiler.command}`,
  `COLL_VARIANT=${variant}`,
  `COLL_STRICT=${isKeptFreeOfWarnings(compiler) ? 'ON' : 'OFF'}`,
];

// CI's compiler. Another one may warn of more, which is no reason to be without the engine.
const isKeptFreeOfWarnings = ({ version }) => /^(c\+\+|g\+\+) .*\b12\.\d+\.\d+$/.test(version);

function doWithout(reason) {
  if (isSet('CI') || isSet('COLL_REQUIRE_NATIVE')) throw new CommandFailed(`not built, because ${reason}`);
  console.error(`${label}: not built, because ${reason}; ${without}.`);
}

/** Asks a compiler once whether it will do, for its version and our flags. */
function refusalAsRemembered(compiler) {
  const accepted = buildFolder('accepted-compiler.txt');
  const question = [compiler.command, compiler.version, ...flagsOf('everywhere'), ...flagsOf('kernels')].join('\n');
  if (existsSync(accepted) && readFileSync(accepted, 'utf8') === question) return undefined;
  const refused = refusalOf(compiler);
  if (refused !== undefined) return refused;
  mkdirSync(path.dirname(accepted), { recursive: true });
  writeFileSync(accepted, question);
}
