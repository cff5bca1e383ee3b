import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { platformOf, slowness } from './platform.ts';
import { type Trial, tracesOf } from './traces.ts';

const settings = [
  // Bandwidths and latencies are taken as they are: the default factors are fits to one cluster's TCP.
  'smpi/lat-factor:0:1',
  'smpi/bw-factor:0:1',
  'network/crosstraffic:0',
  'network/TCP-gamma:0',
  // A rank has sent a message when it is through, however short. Otherwise the next round's would share the port with it.
  'smpi/send-is-detached-thresh:0',
  // Only what traces say takes time.
  'smpi/cpu-threshold:-1',
  'smpi/privatization:no',
  'contexts/stack-size:128',
].map((setting) => `--cfg=${setting}`);

/** The version of the simulator that is installed; undefined where there is none. */
export function simgridVersion(): string | undefined {
  const { stdout } = spawnSync('smpirun', ['-version'], { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(stdout ?? '')?.[0];
}

/** Seconds until the last rank is done. @throws Error with what the simulator said */
export function simulate(trial: Trial): number {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-simulation-'));
  try {
    const write = (name: string, text: string) => {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      return file;
    };
    const traces = tracesOf(trial).map((trace, rank) => write(`trace-${rank}`, trace));
    const hosts = traces.map((_, rank) => `rank${rank}`);
    const files = [
      ['-platform', write('platform.xml', platformOf(trial.machine))],
      ['-hostfile', write('hosts', `${hosts.join('\n')}\n`)],
      ['-replay', write('traces', `${traces.join('\n')}\n`)],
    ].flat();
    const line = ['-np', `${traces.length}`, ...files, ...settings];
    const { status, stdout, stderr } = spawnSync('smpirun', line, { encoding: 'utf8' });
    const found = /Simulation time ([\d.]+)/.exec(`${stdout}${stderr}`);
    if (status !== 0 || !found) throw new Error(`smpirun ${line.join(' ')} ended with ${status}:\n${stderr}${stdout}`);
    return Number(found[1]) / slowness;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
