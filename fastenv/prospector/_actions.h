/* Numbers of the actions, as in tables.py; a test compares them. */
#ifndef FASTENV_PROSPECTOR_ACTIONS_H
#define FASTENV_PROSPECTOR_ACTIONS_H

typedef struct {
    double blend, gain, noise;
    int dt;
    double fuel, alert;
} Scan;

typedef struct {
    double factor, heat, wear, alert, sigma, fracture_bias;
} Mine;

static const Scan SCANS[3] = {
    {0.22, 0.10, 1.35, 3, 5.0, 4.0}, /* wide */
    {0.42, 0.20, 1.00, 2, 4.0, 3.0}, /* focused */
    {0.80, 0.45, 0.55, 4, 8.0, 6.0}, /* deep */
};
static const Mine MINES[3] = {
    {0.80, 2.0, 0.8, 1.2, 0.05, -0.7}, /* conservative */
    {1.15, 4.0, 1.6, 2.2, 0.10, 0.0},  /* standard */
    {1.55, 7.0, 2.8, 4.0, 0.16, 0.8},  /* aggressive */
};
static const double SELL_SHARES[3] = {0.25, 0.50, 1.00};
static const double FUEL_PRICES[3] = {60.0, 120.0, 210.0};
static const double FUEL_AMOUNTS[3] = {120.0, 260.0, 480.0};

#define PRICE_REPAIR_KIT 150.0
#define PRICE_STABILIZER 175.0
#define PRICE_DECOY 110.0
#define PRICE_OVERHAUL 280.0

#endif
