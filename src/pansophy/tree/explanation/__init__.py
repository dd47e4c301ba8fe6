"""What a tree says: drawings, rules, exports, Shapley values."""
