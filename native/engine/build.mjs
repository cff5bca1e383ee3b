// Builds the C++ part from source, and tests it: `node build.mjs` and the modes below.
import { buildAddon, buildPlatform, buildTests } from './tools/builds.mjs';
import { platforms } from './tools/platforms.mjs';
import { CommandFailed } from './tools/run-to-end.mjs';
import { runCppTests, runSanitized } from './tools/tests.mjs';

const both = ['coll_native', 'coll_tests'];
const modes = {
  release: () => buildAddon('release'),
  debug: () => buildAddon('debug'),
  test: () => runCppTests(buildTests('release')),
  asan: () => runSanitized('asan', buildTests('asan', both)),
  tsan: () => runSanitized('tsan', buildTests('tsan', both)),
  ...Object.fromEntries(Object.keys(platforms).map((name) => [name, () => crossBuild(name)])),
};

function crossBuild(name) {
  const { into, emulator } = buildPlatform(name);
  if (emulator) runCppTests(into, { emulator, isShort: true });
}

const [mode = 'release'] = process.argv.slice(2);
try {
  if (!Object.hasOwn(modes, mode)) throw new CommandFailed(`no mode "${mode}": ${Object.keys(modes).join(', ')}`);
  await modes[mode]();
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  console.error(`native engine: ${error.message}`);
  process.exitCode = 1;
}
