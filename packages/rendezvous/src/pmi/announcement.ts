import { CollError } from '@coll/core';

/** What rank 0 tells the other members through the launcher. */
export interface Announcement {
  /** The address of the store that rank 0 hosts: `tcp://host:port`. */
  readonly address: string;
  /** The key of the job, if rank 0 has made one. */
  readonly jobKey: string | undefined;
}

/** Encodes an announcement as letters, digits, `-` and `_`, which every launcher passes on unchanged. */
export function encodeAnnouncement({ address, jobKey }: Announcement): string {
  return Buffer.from(JSON.stringify([1, address, jobKey ?? ''])).toString('base64url');
}

/** @throws CollError (ERR_COLL_STORE) for a text that `encodeAnnouncement` has not made */
export function decodeAnnouncement(text: string): Announcement {
  try {
    const [version, address, jobKey, ...rest] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const isAddress = typeof address === 'string' && new URL(address).protocol === 'tcp:';
    if (version === 1 && isAddress && typeof jobKey === 'string' && rest.length === 0)
      return { address, jobKey: jobKey || undefined };
  } catch {
    // The same error as for an announcement of another form.
  }
  const message =
    'cannot parse what rank 0 announced through the launcher: use the same release of coll on all members';
  throw new CollError('ERR_COLL_STORE', message, { rank: 0, operation: 'start' });
}
