// Additions to the theme on every page: frames as high as their content, accessibility by keyboard and screen reader.
"use strict";
{
  // A frame with an example of the playground reports its height (site/playground/src/main.ts).
  addEventListener("message", ({ source, data }) => {
    const height = data?.playgroundHeight;
    if (!Number.isFinite(height)) return;
    for (const frame of document.querySelectorAll("iframe.live")) {
      if (frame.contentWindow === source) frame.style.height = `${Math.min(Math.max(height, 300), 4000)}px`;
    }
  });

  /** Makes elements with overflowing content focusable, so that keys can scroll them. */
  const reachable = () => {
    for (const region of document.querySelectorAll("article :is(.table-wrapper, .output div, pre)")) {
      const scrolls = region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight;
      if (scrolls && getComputedStyle(region).overflowX !== "visible") region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    }
  };

  /** Scrolls to the heading that shares most words with an unknown anchor, which may be of an older version. */
  const nearest = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id || document.getElementById(id)) return;
    const wanted = id.split("-");
    const shared = (section) => section.id.split("-").filter((word) => wanted.includes(word)).length;
    const [best] = [...document.querySelectorAll("article section[id]")].sort((a, b) => shared(b) - shared(a));
    if (best && shared(best)) best.scrollIntoView({ behavior: "instant" }); // the theme's smooth scrolling would stop while the page loads
  };

  const start = () => {
    for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = "2";
    for (const [place, name] of [[".sidebar-drawer", "Pages"], [".toc-drawer", "On this page"]]) {
      document.querySelector(place)?.setAttribute("aria-label", name);
    }
    // An empty cell is not a heading.
    for (const head of document.querySelectorAll("th")) if (!head.textContent.trim()) head.replaceWith(document.createElement("td"));
    nearest();
    reachable();
    addEventListener("resize", reachable);
    addEventListener("load", reachable);
  };

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
}
