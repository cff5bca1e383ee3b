import { expect, it } from 'vitest';
import { encryptionCheck, encryptionLine } from './encryption.js';

const aes = { cipher: 'TLS_AES_128_GCM_SHA256', problem: '' };
const chaCha = { cipher: 'TLS_CHACHA20_POLY1305_SHA256', problem: '' };

it('encryption by AES is ok', () => {
  expect(encryptionLine(aes, false)).toEqual({
    name: 'encryption',
    verdict: 'ok',
    text: 'TLS_AES_128_GCM_SHA256 between hosts',
    data: { ...aes, isGivenUp: false },
  });
});

it('encryption without instructions for AES is slow', () => {
  expect(encryptionLine(chaCha, false)).toMatchObject({
    verdict: 'slow',
    text: 'TLS_CHACHA20_POLY1305_SHA256 between hosts, because the processor has no instructions for AES-GCM',
    cure: expect.stringContaining('-cpu host'),
  });
});

it('a runtime that cannot encrypt is broken, with the reason and the cure', () => {
  const problem = 'this program exports no OpenSSL 3: it has no function TLS_method';
  expect(encryptionLine({ ...aes, problem }, false)).toMatchObject({
    verdict: 'broken',
    text: `groups on several hosts cannot open, because ${problem}`,
    cure: 'run programs in Node from https://nodejs.org, which has OpenSSL 3',
  });
});

it.each([aes, { ...aes, problem: 'Bun 1 has no TLS with a pre-shared key' }])(
  'COLL_INSECURE makes it a fact that nothing is encrypted: %j',
  (facts) => {
    const line = encryptionLine(facts, true);
    expect(line.text).toBe('none between hosts, because COLL_INSECURE is set; data is checksummed');
    expect(line.verdict).toBeUndefined();
  },
);

it('encryption that is not known is a plain fact', () => {
  const text = 'not known without the native engine';
  expect(encryptionLine(text, false)).toEqual({ name: 'encryption', text });
});

it('reads COLL_INSECURE from the environment of the command', async () => {
  const [line] = await encryptionCheck.examine({ folder: '.', environment: { COLL_INSECURE: '1' } });
  expect(line?.text).toMatch(/because COLL_INSECURE is set|not (known|reported)/);
  const [own] = await encryptionCheck.examine({ folder: '.', environment: { COLL_INSECURE: '0' } });
  expect(own?.text).toMatch(/^TLS_\w+ between hosts|not (known|reported)/);
});
