/** A measured figure and its limit. */
export interface Expectation {
  readonly what: string;
  readonly figure: number;
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
  readonly unit: string;
  readonly isMet: boolean;
}

export function atMost(limit: number, unit: string, what: string, figure: number): Expectation {
  return { what, figure: rounded(figure), bound: 'at most', limit, unit, isMet: figure <= limit };
}

export function atLeast(limit: number, unit: string, what: string, figure: number): Expectation {
  return { what, figure: rounded(figure), bound: 'at least', limit, unit, isMet: figure >= limit };
}

/** Rounds to four digits. No figure here is more precise. */
export function rounded(figure: number): number {
  return Number(figure.toPrecision(4));
}
