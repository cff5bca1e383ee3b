import { spawnSync } from 'node:child_process';

const lines = [['update'], ['install', '--yes', '--no-install-recommends', 'libsimgrid-dev']];

/** The command that installs the simulator. */
export const installLine = `apt-get ${(lines[1] as string[]).join(' ')}`;

/** Installs the simulator with apt-get, which needs root. @throws Error if apt-get fails */
export function installSimgrid(): void {
  for (const line of lines) {
    const { status } = spawnSync('apt-get', line, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`apt-get ${line.join(' ')} failed; it needs Debian or Ubuntu, and root`);
  }
}
