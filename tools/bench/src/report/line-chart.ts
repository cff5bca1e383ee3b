import { LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { threeDigits } from './cells.js';

use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** A line of a chart, with a value per category. */
export interface Line {
  readonly name: string;
  readonly color: string;
  readonly values: readonly (number | undefined)[];
  readonly isDashed?: boolean;
}

/** A line chart over categories such as sizes, with a logarithmic axis, as SVG. Lines without a value are left out. */
export function drawLines(title: string, categories: readonly string[], lines: readonly Line[]): string {
  const shown = lines.filter(({ values }) => values.some((value) => value !== undefined));
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 900, height: 480 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, left: 16, top: 10, textStyle: { fontSize: 15, fontWeight: 600 } },
    legend: { right: 16, top: 'middle', orient: 'vertical', data: shown.map(({ name }) => name) },
    grid: { left: 64, right: 180, top: 52, bottom: 40 },
    xAxis: { type: 'category', data: [...categories], boundaryGap: false },
    yAxis: {
      type: 'log',
      axisLabel: { formatter: plain },
      minorSplitLine: { show: true, lineStyle: { color: '#eef0f2' } },
    },
    series: shown.map(({ name, color, values, isDashed = false }) => ({
      type: 'line',
      name,
      data: values.map((value) => value ?? '-'),
      symbolSize: isDashed ? 0 : 5,
      color,
      lineStyle: { type: isDashed ? 'dashed' : 'solid', width: 2 },
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${withoutHovering(svg)}\n`;
}

// Removes styles for hovering. Their names count all pictures of the process, but the same figures must give the same
// file.
function withoutHovering(svg: string): string {
  return svg
    .replace(/<style >[\s\S]*?<\/style>\n?/g, '')
    .replace(/ class="zr\d+-cls-\d+"/g, '')
    .replace(/ ecmeta_\w+="\w*"/g, '')
    .replace(/\bzr\d+-/g, 'zr-');
}

function plain(value: number): string {
  return value >= 1 ? String(value) : threeDigits(value).replace(/0+$/, '');
}
