// What build.mjs of a package can be asked for.
import { buildAddon, buildPlatform, buildTests } from './builds.mjs';
import { itsPlatforms, label, name } from './flags.mjs';
import { platforms } from './platforms.mjs';
import { CommandFailed } from './run-to-end.mjs';
import { runCppTests, runSanitized } from './tests.mjs';

const both = [name, 'coll_tests'];
const crossBuilt = Object.keys(platforms).filter((it) => itsPlatforms?.includes(platforms[it].os) !== false);
const common = {
  release: () => buildAddon('release'),
  early: () => buildAddon('release', { isEarly: true }),
  'every-processor': () => buildAddon('release', { forEveryProcessor: true }),
  debug: () => buildAddon('debug'),
  test: () => runCppTests(buildTests('release')),
  asan: () => runSanitized('asan', buildTests('asan', both)),
  tsan: () => runSanitized('tsan', buildTests('tsan', both)),
  ...Object.fromEntries(crossBuilt.map((platform) => [platform, () => crossBuild(platform)])),
};

function crossBuild(platform) {
  const { into, emulator } = buildPlatform(platform);
  if (emulator) runCppTests(into, { emulator, isShort: true });
}

/** Runs one mode, `release` unless said; `more` are modes of this package only. Ends the process with 1 where it fails. */
export async function runMode(mode = 'release', more = {}) {
  const modes = { ...common, ...more };
  try {
    if (!Object.hasOwn(modes, mode)) throw new CommandFailed(`no mode "${mode}": ${Object.keys(modes).join(', ')}`);
    await modes[mode]();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    console.error(`${label}: ${error.message}`);
    process.exitCode = 1;
  }
}
