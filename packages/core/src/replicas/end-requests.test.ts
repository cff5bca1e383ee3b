import { describe, expect, it } from 'vitest';
import { setLogSink } from '../support/logger.js';
import { endRequestsOf, ProcessEndRequests, setEndRequests, ThreadEndRequests } from './end-requests.js';

describe('requests to end the process', () => {
  it('are kept once after accept, in memory that threads can share', () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    try {
      const flag = new Int32Array(new SharedArrayBuffer(8));
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
    new ThreadEndRequests(new Int32Array(new SharedArrayBuffer(8)), () => {}, 1).accept();
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

  it('are those of the process, unless a replica has others', () => {
    const [replica, other] = [{}, {}];
    const requests = new ProcessEndRequests();
    setEndRequests(replica, requests);
    expect(endRequestsOf(replica)).toBe(requests);
    expect(endRequestsOf(other)).not.toBe(requests);
  });
});
