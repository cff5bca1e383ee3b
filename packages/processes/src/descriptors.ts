import { closeSync, openSync } from 'node:fs';
import { RuntimeError } from '@coll/core';
import type { Member } from './member.js';

// Members notice after 0.9 seconds that a connection is not replaced, and would say that this process has ended.
const lookMillis = 100;
// A moment with many handshakes passes.
const mostMisses = 3;

/**
 * Calls back once when this process can open no files for some tenths of a second. Connections of others are closed then before any code
 * of ours sees them.
 * @returns what ends the watch
 */
export function watchDescriptors(member: Member, fail: (error: RuntimeError) => void): () => void {
  let misses = 0;
  const timer = setInterval(() => {
    const why = whyNoneOpens();
    misses = why === undefined ? 0 : misses + 1;
    if (misses < mostMisses) return;
    clearInterval(timer);
    fail(tooFew(member, why));
  }, lookMillis);
  return () => clearInterval(timer);
}

function whyNoneOpens(): NodeJS.ErrnoException | undefined {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Anything else says nothing about connections.
    return code === 'EMFILE' || code === 'ENFILE' ? (error as NodeJS.ErrnoException) : undefined;
  }
}

function tooFew({ rank, size }: Member, cause: NodeJS.ErrnoException | undefined): RuntimeError {
  const told = `rank ${rank} cannot open a group of ${size}: it has too many open files (${cause?.code})`;
  const cure = 'raise the limit before it starts: ulimit -n 4096';
  return new RuntimeError('ERR_COLL_CLUSTER', `${told}; ${cure}`, { rank, operation: 'open a group', cause });
}
