"""What runs give: records, means with intervals, frames, documents, figures."""
