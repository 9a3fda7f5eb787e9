module.exports = require("./layers.cjs").configuration;
