import { expect, it } from 'vitest';
import { tlsLine } from './tls.js';

it('TLS is ok if two members can connect', () => {
  expect(tlsLine({ openssl: '3.0.1', refused: undefined })).toEqual({
    name: 'TLS',
    verdict: 'ok',
    text: 'TLS 1.3 with a pre-shared key works (OpenSSL 3.0.1)',
    data: { openssl: '3.0.1', refused: undefined },
  });
  expect(tlsLine({ openssl: undefined, refused: undefined }).text).toBe('TLS 1.3 with a pre-shared key works');
});

it('TLS is broken if they cannot', () => {
  expect(tlsLine({ openssl: undefined, refused: 'Bun 1 has no TLS with a pre-shared key' })).toMatchObject({
    verdict: 'broken',
    text: 'members cannot authenticate each other: Bun 1 has no TLS with a pre-shared key',
    cure: expect.stringMatching(/^run programs in Node/),
  });
});

it('TLS is broken for another reason if nothing can connect to the loopback interface', () => {
  const refused = 'could not connect to the store: connect ENETUNREACH 127.0.0.1:42191';
  expect(tlsLine({ openssl: '3.0.1', refused })).toMatchObject({
    verdict: 'broken',
    cure: 'let programs connect to 127.0.0.1: ip link set lo up, or the policy of the sandbox',
  });
});
