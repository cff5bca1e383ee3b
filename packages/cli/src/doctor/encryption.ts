import { native } from '@coll/native';
import { nativeBinding } from '@coll/native/addon';
import { type Check, type Line, unknown } from './line.js';

/** How this runtime encrypts connections between hosts. */
export interface EncryptionFacts {
  /** The TLS suite that this processor prefers. */
  readonly cipher: string;
  /** Why the runtime cannot encrypt; empty if it can. */
  readonly problem: string;
}

/** Whether a group of processes can encrypt what it sends between hosts. */
export const encryptionCheck: Check = {
  name: 'encryption',
  examine: ({ environment }) => [
    encryptionLine(findEncryption(), /^(1|true)$/.test(environment['COLL_INSECURE'] ?? '')),
  ],
};

/** A text if it is not known, with the reason. */
function findEncryption(): EncryptionFacts | string {
  if (!native.probe().available) return 'not known without the native engine';
  const [cipher, problem] = nativeBinding().processes?.sealing() ?? [];
  if (cipher === undefined || problem === undefined) return unknown;
  const { bun } = process.versions;
  if (bun === undefined) return { cipher, problem };
  return { cipher, problem: `Bun ${bun} has no TLS with a pre-shared key` };
}

/**
 * @param facts a text if they are not known, with the reason
 * @param isGivenUp whether the environment sets `COLL_INSECURE`
 */
export function encryptionLine(facts: EncryptionFacts | string, isGivenUp: boolean): Line {
  const name = 'encryption';
  if (typeof facts === 'string') return { name, text: facts };
  const { cipher, problem } = facts;
  const line = { name, data: { ...facts, isGivenUp } };
  if (isGivenUp) return { ...line, text: 'none between hosts, because COLL_INSECURE is set; data is checksummed' };
  if (problem !== '') {
    const text = `groups on several hosts cannot open, because ${problem}`;
    return {
      ...line,
      verdict: 'broken',
      text,
      cure: 'run programs in Node from https://nodejs.org, which has OpenSSL 3',
    };
  }
  const text = `${cipher} between hosts`;
  if (!cipher.includes('CHACHA20')) return { ...line, verdict: 'ok', text };
  return {
    ...line,
    verdict: 'slow',
    text: `${text}, because the processor has no instructions for AES-GCM`,
    cure: 'let the virtual machine use the instructions of its host (QEMU: -cpu host), or use another processor',
  };
}
