import { spawnSync } from 'node:child_process';

const lines = [['update'], ['install', '--yes', '--no-install-recommends', 'libsimgrid-dev']];

/** How to get the simulator. */
export const installLine = `apt-get ${(lines[1] as string[]).join(' ')}`;

/** Runs apt-get, which needs root. @throws Error where it fails */
export function installSimgrid(): void {
  for (const line of lines) {
    const { status } = spawnSync('apt-get', line, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`apt-get ${line.join(' ')} failed; it needs Debian or Ubuntu, and root`);
  }
}
