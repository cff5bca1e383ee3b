import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { platformOf, slowness } from './platform.ts';
import { type Trial, tracesOf } from './traces.ts';

const settings = [
  // Use bandwidths and latencies as given: the default factors were fitted to the TCP of one cluster.
  'smpi/lat-factor:0:1',
  'smpi/bw-factor:0:1',
  'network/crosstraffic:0',
  'network/TCP-gamma:0',
  // A send ends when the message has passed the port. Otherwise, messages of the next round would share the port with
  // it.
  'smpi/send-is-detached-thresh:0',
  // Count only the operations of the traces as computing time.
  'smpi/cpu-threshold:-1',
  'smpi/privatization:no',
  'contexts/stack-size:128',
].map((setting) => `--cfg=${setting}`);

/** The version of the installed simulator; undefined if there is none. */
export function simgridVersion(): string | undefined {
  const { stdout } = spawnSync('smpirun', ['-version'], { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(stdout ?? '')?.[0];
}

/**
 * Simulates an all-reduce.
 * @returns the seconds until the last rank is done
 * @throws Error with the simulator's output
 */
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
