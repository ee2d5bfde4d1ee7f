// Who gets what: a bar for each group of users, with a tick at its max-min share.

import { h } from "../dom";
import { percent, rate, short } from "../numbers";
import { normalised, type Run } from "../run";

export function shares(run: Run, most: number): HTMLElement {
  const rows = run.record.groups.map((group, index) => {
    const width = (100 * group.throughput_bps) / most;
    const share = (100 * group.max_min_share_bps) / most;
    const who = group.users > 1 ? `${group.name}, each of ${group.users}` : group.name;
    return h("li", { style: `--own: var(--user-${index % 6})` },
      h("span", { class: "who" }, who),
      h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "fill", style: `width: ${width}%` }), h("span", { class: "tick", style: `left: ${share}%` })),
      h("span", { class: "value" }, h("b", {}, rate(group.throughput_bps)), ` · ${short(normalised(run, index))} ×`),
    );
  });
  const jain = run.record.jain_index_normalised;
  const used = Math.max(...run.record.links.map((link) => link.utilisation));
  return h("figure", { class: "shares" },
    h("figcaption", {}, "Shares, and how many times the max-min share (tick)"),
    h("ul", {}, ...rows),
    h("p", { class: "facts" }, `Jain's index ${jain === null ? "–" : short(jain)} · link busy ${percent(used)}`),
  );
}
