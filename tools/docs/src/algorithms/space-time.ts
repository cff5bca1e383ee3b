import type { Schedule } from '@coll/core/schedule';
import { type Arrow, colors, type Layout, layOut } from './space-time-layout.ts';

/**
 * A picture of a schedule: ranks are columns, and time runs down. An arrow is a transfer, labelled with its
 * chunks. The receiver combines the chunks of a solid arrow, and stores the chunks of a dashed one.
 */
export function spaceTimePicture(title: string, schedule: Schedule): string {
  const layout = layOut(schedule);
  const { width, height, columns, moments, arrows, roundHeight } = layout;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    '<defs>',
    ...colors.map(headOf),
    '</defs>',
    ...columns.flatMap((x, rank) => lifeOf(x, rank, layout)),
    ...moments.slice(0, -1).map((y, round) => text(8, y + roundHeight / 2 + 4, `round ${round}`, '#57606a', 'start')),
    ...arrows.map(drawn),
    ...columns.flatMap((x) => moments.map((y) => `<circle cx="${x}" cy="${y}" r="4" fill="#1f2328"/>`)),
    '</svg>',
    '',
  ].join('\n');
}

function headOf(color: string): string {
  const shape = `<path d="M0 0L8 4L0 8z" fill="${color}"/>`;
  return `<marker id="${color.slice(1)}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">${shape}</marker>`;
}

function lifeOf(x: number, rank: number, { moments }: Layout): string[] {
  const begin = moments[0] as number;
  return [
    text(x, begin - 18, `rank ${rank}`, '#1f2328', 'middle'),
    `<path d="M${x} ${begin}V${moments.at(-1)}" stroke="#d0d7de"/>`,
  ];
}

function drawn({ x1, y1, x2, y2, reduce, color, label }: Arrow): string {
  const dashes = reduce ? '' : ' stroke-dasharray="5 3"';
  return [
    `<path d="M${x1} ${y1}L${x2} ${y2}" stroke="${color}" stroke-width="1.5"${dashes} marker-end="url(#${color.slice(1)})"/>`,
    text(label.x, label.y, label.text, color, 'middle'),
  ].join('');
}

function text(x: number, y: number, words: string, color: string, anchor: string): string {
  const halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}" ${halo}>${words}</text>`;
}
