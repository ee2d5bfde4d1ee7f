// Extends the theme's search. Weights are those of Sphinx, but explanations come before lists.
var Scorer = {
  score: ([page, , , , score]) => score + (page.startsWith("docs/schemes/") ? 2 : page.startsWith("docs/") ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// A page opened from a file cannot read other pages for excerpts.
if (location.protocol === "file:") addEventListener("DOMContentLoaded", () => (DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false), true);
