//! Label-based schemes besides ABC: the edge writes a label, every port decides by it.
