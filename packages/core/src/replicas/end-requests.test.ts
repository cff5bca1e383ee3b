import { describe, expect, it } from 'vitest';
import { setLogSink } from '../support/logger.js';
import { endRequestsOf, ProcessEndRequests, setEndRequests, ThreadEndRequests } from './end-requests.js';

describe('requests to end the process', () => {
  it('are kept once after accept, in memory that threads can share', () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    try {
      const flag = new Int32Array(new SharedArrayBuffer(12));
      const requests = new ProcessEndRequests(flag);
      const ofThread = new ThreadEndRequests(flag, () => requests.accept());
      ofThread.accept();
      requests.accept();
      expect(process.listenerCount('SIGTERM')).toBe(1);
      expect(requests.isPending).toBe(false);
      process.emit('SIGTERM');
      expect(requests.isPending).toBe(true);
      expect(ofThread.isPending).toBe(true);
      expect(process.listenerCount('SIGTERM')).toBe(0);
      expect(lines).toEqual([expect.stringMatching(/^SIGTERM: the training ends after its next step/)]);
    } finally {
      setLogSink(undefined);
    }
  });

  it('of a thread are warned of if the main thread does not answer', () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    new ThreadEndRequests(new Int32Array(new SharedArrayBuffer(12)), () => {}, 1).accept();
    setLogSink(undefined);
    expect(lines).toEqual([
      expect.stringMatching(/^the main thread has not answered for 0\.001 s, so SIGTERM may end/),
    ]);
  });

  it('end the process after refuse', () => {
    const requests = new ProcessEndRequests();
    requests.accept();
    requests.refuse();
    expect(process.listenerCount('SIGTERM')).toBe(0);
  });

  it('do not end the process after refuse if one is expected, but a second one does', () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    try {
      const state = new Int32Array(new SharedArrayBuffer(12));
      const requests = new ProcessEndRequests(state);
      const ofThread = new ThreadEndRequests(state, () => requests.accept());
      ofThread.accept();
      ofThread.expect();
      requests.refuse();
      expect(process.listenerCount('SIGTERM')).toBe(1);
      ofThread.accept();
      requests.refuse();
      expect(process.listenerCount('SIGTERM')).toBe(1);
      process.emit('SIGTERM');
      expect(process.listenerCount('SIGTERM')).toBe(0);
      expect(lines).toEqual([expect.stringMatching(/^SIGTERM: the training has already ended/)]);
      requests.accept();
      expect(process.listenerCount('SIGTERM')).toBe(1);
      requests.refuse();
      expect(process.listenerCount('SIGTERM')).toBe(0);
    } finally {
      setLogSink(undefined);
    }
  });

  it('end the process after refuse if the expected one has arrived before', () => {
    setLogSink(() => {});
    try {
      const requests = new ProcessEndRequests();
      requests.accept();
      process.emit('SIGTERM');
      requests.expect();
      requests.refuse();
      expect(process.listenerCount('SIGTERM')).toBe(0);
    } finally {
      setLogSink(undefined);
    }
  });

  it('are those of the process, unless a replica has others', () => {
    const [replica, other] = [{}, {}];
    const requests = new ProcessEndRequests();
    setEndRequests(replica, requests);
    expect(endRequestsOf(replica)).toBe(requests);
    expect(endRequestsOf(other)).not.toBe(requests);
  });
});
