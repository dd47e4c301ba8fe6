"""What to watch next: ratings in time, three recommenders, and a user who is new."""

import numpy as np

from pansophy.datasets import make_ratings
from pansophy.recommend import (
    ALS,
    BiasModel,
    ItemKNN,
    Ratings,
    evaluate,
    temporal_split,
)

# a table of who rated what, how and when; any data frame with such columns will do
table = make_ratings(400, 200, 20_000, random_state=0)
ratings = Ratings.from_frame(table, time="time")
print(ratings)

# the last fifth of the time is the future: nobody may learn from it
train, test = temporal_split(ratings, 0.2)

# what a user rated 4 or more was worth recommending: how much of it comes first?
models = {
    "biases": BiasModel(),
    "neighbours": ItemKNN(shrinkage=10.0),
    "factors": ALS(8, reg=5.0, random_state=0),
}
print(f"{'':<12}{'NDCG@10':>9}{'recall':>9}{'rmse':>9}")
for name, model in models.items():
    report = evaluate(model.fit(train), test, k=10, threshold=4.0)
    print(f"{name:<12}{report.ndcg:>9.3f}{report.recall:>9.3f}{report.rmse:>9.3f}")

# somebody new has rated four films: no need to fit again
model = models["factors"]
liked = model.similar_items(model.items_[np.argmax(model.popularity_)], n=3).names
X = [["mira", int(film)] for film in (*liked, 7)]
mira = model.fold_in(X, [5.0, 5.0, 4.5, 1.0])
for film, score in zip(*mira.recommend("mira", n=3)):
    print(f"film {film}: expected rating {score:.1f}")
