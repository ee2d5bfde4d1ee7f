// Drops at the displayed link, by user and reason.

import { h } from "../dom";
import { percent, short } from "../numbers";
import type { Run } from "../run";

const REASONS: Record<string, string> = {
  aqm: "by decision of the scheme", overlimit: "buffer full", pushed_out: "pushed out by another", lost: "lost on the wire",
};

export function drops(run: Run): HTMLElement {
  const { groups, links } = run.record;
  const link = links[run.link]!;
  const lost = groups.map((_, group) =>
    link.user_dropped_packets.reduce((sum, count, user) => sum + (run.watched.group_of_user[user] === group ? count : 0), 0));
  const most = Math.max(1, ...lost);
  const rows = groups.map((group, index) => {
    const share = group.path.lost_share ?? 0;
    return h("li", { style: `--own: var(--user-${index % 6})` },
      h("span", { class: "who" }, group.name),
      h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "fill", style: `width: ${(100 * lost[index]!) / most}%` })),
      h("span", { class: "value" }, h("b", {}, `${lost[index]}`), ` packets; ${percent(share)} lost on its way`),
    );
  });
  const reasons = link.drops.filter((drop) => drop.packets > 0).map((drop) => `${drop.packets} ${REASONS[drop.reason] ?? drop.reason}`);
  const marks = link.marks > 0 ? [`${link.marks} marked instead`] : [];
  return h("figure", { class: "shares" },
    h("figcaption", {}, "Drops"),
    h("ul", {}, ...rows),
    h("p", { class: "facts" }, [...reasons, ...marks].join(" · ") || "Nothing was dropped."),
  );
}

/** Table of these and further numbers, also for screen readers. */
export function table(run: Run): HTMLElement {
  const link = run.record.links[run.link]!;
  const rows = run.record.groups.map((group, index) => {
    const waits = run.waits[index]!;
    const at = (share: number) => (waits.length ? short(1000 * waits[Math.min(waits.length - 1, Math.floor(share * waits.length))]!) : "–");
    const cells = [short(group.throughput_bps / 1e6), short(group.max_min_share_bps / 1e6), at(0.5), at(0.95), percent(group.path.lost_share ?? 0)];
    return h("tr", {}, h("th", { scope: "row" }, group.name), ...cells.map((cell) => h("td", {}, cell)));
  });
  const heads = ["Users", "Mbit/s each", "Max-min share", "Median wait (ms)", "p95 wait (ms)", "Lost"];
  return h("details", { class: "numbers" },
    h("summary", {}, "The numbers"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${run.scheme}` },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, ...rows))),
    h("p", { class: "facts" }, `Queue: ${short(link.queue.mean_packets)} packets on average, ${link.queue.max_packets} at most.`),
  );
}
