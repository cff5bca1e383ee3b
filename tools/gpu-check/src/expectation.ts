/** A figure that was measured, and what is due of it. */
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

/** To four digits, which is more than any figure here is good for. */
export function rounded(figure: number): number {
  return Number(figure.toPrecision(4));
}
