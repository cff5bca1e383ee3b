import { CollError } from '@coll/core';
import { messageOf } from '@coll/core/internal';

/** `slow`: it works, but not as fast as it could. `broken`: programs of coll fail, or it cannot be used at all. */
export type Verdict = 'ok' | 'slow' | 'broken';

/** A line of the report. A plain fact, which cannot be wrong, has no verdict. */
export type Line = {
  readonly name: string;
  readonly text: string;
  /** The facts behind the text, for JSON. */
  readonly data?: object | undefined;
} & ({ readonly verdict?: 'ok' } | { readonly verdict: 'slow' | 'broken'; readonly cure: string });

/** Where programs would run. */
export interface Place {
  /** The folder of the project, or one below it. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Something to examine. The name is that of its line if the check itself fails. */
export interface Check {
  readonly name: string;
  examine(place: Place): readonly Line[] | Promise<readonly Line[]>;
}

/** The text for facts that the system does not provide. */
export const unknown = 'not reported by this system';

/** The lines of a check. If the check fails, a single line with the reason. Never throws. */
export async function linesOf({ name, examine }: Check, place: Place): Promise<readonly Line[]> {
  try {
    return await examine(place);
  } catch (error) {
    const line = { name, verdict: 'broken', text: messageOf(error) } as const;
    if (error instanceof CollError) return [{ ...line, cure: cureOf(error) }];
    const { stack } = Object(error) as { readonly stack?: string };
    return [
      { ...line, cure: 'none: this is an error of coll doctor; report it with the output of --json', data: { stack } },
    ];
  }
}

/** The worst verdict of some lines. */
export function worstOf(lines: readonly Line[]): Verdict {
  const worst = (['broken', 'slow'] as const).find((verdict) => lines.some((line) => line.verdict === verdict));
  return worst ?? 'ok';
}

function cureOf({ message }: CollError): string {
  const [variable] = /\bCOLL_[A-Z_]+\b/.exec(message) ?? [];
  return variable === undefined ? 'correct what the message names' : `correct ${variable}, or unset it`;
}
