/** Tokens, latency and cost over the steps of an episode: for each operator, the mean of the selected exchanges. */

import { type ReactNode, useMemo, useState } from 'react';
import type { ExchangeAmount, Selection } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { ChartBody, CursorLink } from '../charts/chart-card.tsx';
import type { ChartView } from '../charts/line-chart.ts';
import { linesOf } from '../charts/lines.ts';
import { color } from '../charts/palette.ts';
import type { Limits } from '../charts/ranges.ts';
import { trans } from '../translation.ts';
import { useAnswer } from '../use-answer.ts';

const HEIGHT = 150;

interface MeansProps {
  readonly source: RunSource;
  readonly run: string;
  readonly selection: Selection;
  /** The numbers of the operators, for their colours. */
  readonly operators: Readonly<Record<string, number>>;
  /** Changes when there are more exchanges. */
  readonly version: string;
}

export function Means(props: MeansProps): ReactNode {
  const link = useMemo(() => new CursorLink(), []);
  const [limits, setLimits] = useState<Limits>([null, null]);
  const amounts: [ExchangeAmount, string][] = [
    ['tokens', trans.__('Tokens')],
    ['latency_ms', trans.__('Latency (ms)')],
    ['cost_usd', trans.__('Cost (US$)')]
  ];
  return (
    <div className="mosaic-transcript-charts">
      {amounts.map(([amount, title]) => (
        <MeanChart
          key={amount}
          {...props}
          amount={amount}
          title={title}
          link={link}
          limits={limits}
          zoom={setLimits}
        />
      ))}
    </div>
  );
}

interface MeanChartProps extends MeansProps {
  readonly amount: ExchangeAmount;
  readonly title: string;
  readonly link: CursorLink;
  readonly limits: Limits;
  readonly zoom: (limits: Limits) => void;
}

function MeanChart(props: MeanChartProps): ReactNode {
  const { source, run, selection, operators, version, amount, title, link, limits, zoom } = props;
  const { latest, problem } = useAnswer(
    source,
    'exchange_means',
    { run, selection, amount },
    () => null,
    version
  );
  const lines = useMemo(
    () =>
      (latest ? linesOf(latest) : []).map(data => ({
        data,
        label: data.label,
        color: color(operators[data.label] ?? 0)
      })),
    [latest, operators]
  );
  const view = useMemo<ChartView>(
    () => ({
      axis: 'step',
      xTitle: trans.__('step of the episode'),
      xLog: false,
      yLog: false,
      xLimits: limits,
      yLimits: [null, null]
    }),
    [limits]
  );
  const hasPoints = lines.some(({ data }) => data.y.length > 0);
  return (
    <section className="mosaic-chart" aria-label={title}>
      <header className="mosaic-chart-head">
        <h3>{title}</h3>
      </header>
      <ChartBody
        title={title}
        xLabel={trans.__('step')}
        kind={trans.__('mean')}
        lines={lines}
        view={view}
        height={HEIGHT}
        link={link}
        message={hasPoints ? '' : problem || (latest ? trans.__('unknown') : trans.__('Reading …'))}
        onZoom={range => zoom(range ?? [null, null])}
      />
    </section>
  );
}
