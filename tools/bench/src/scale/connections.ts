import { spawnSync } from 'node:child_process';
import { UsageError } from '../usage-error.js';

/** An end of a TCP connection between two processes. */
export interface ConnectionEnd {
  readonly pid: number;
  /** The addresses of this end and of the other one, as `ss` prints them. */
  readonly local: string;
  readonly peer: string;
  /** Segments with data that this end has sent. */
  readonly segments: number;
}

/**
 * The established TCP connections between processes of `pids`, both ends of each.
 * @throws UsageError if this system has no `ss`
 */
export function connectionsBetween(pids: ReadonlySet<number>): ConnectionEnd[] {
  const { status, stdout, error } = spawnSync('ss', ['-tinpH', 'state', 'established'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0)
    throw new UsageError(`connections are counted by ss, of iproute2: ${error?.message ?? `exit ${status}`}`);
  return betweenOnly(endsIn(stdout).filter(({ pid }) => pids.has(pid)));
}

/** Parses the output of `ss -tinpH`. The counters of a connection are in the line after it. */
export function endsIn(text: string): ConnectionEnd[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [, local, peer, pid] = /^\d+\s+\d+\s+(\S+)\s+(\S+)\s+users:.*?pid=(\d+)/.exec(line) ?? [];
    if (local === undefined || peer === undefined) return [];
    const [, segments = '0'] = /\bdata_segs_out:(\d+)/.exec(lines[index + 1] ?? '') ?? [];
    return [{ pid: Number(pid), local, peer, segments: Number(segments) }];
  });
}

function betweenOnly(ends: readonly ConnectionEnd[]): ConnectionEnd[] {
  const keys = new Set(ends.map(({ local, peer }) => `${local} ${peer}`));
  return ends.filter(({ local, peer }) => keys.has(`${peer} ${local}`));
}
